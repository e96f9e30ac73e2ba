// A Go client of a server: lists, calls, approves, reads and gets, and prints what it received as JSON.
//
// Usage: go-client stdio COMMAND ARGUMENT...
//
//	go-client http URL
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: os.Args[2]}
	if os.Args[1] == "stdio" {
		transport = &mcp.CommandTransport{Command: exec.Command(os.Args[2], os.Args[3:]...)}
	}
	approve := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "run it once"}}, nil
	}
	options := &mcp.ClientOptions{ElicitationHandler: approve}
	client := mcp.NewClient(&mcp.Implementation{Name: "go-client", Version: "1"}, options)
	session, err := client.Connect(ctx, transport, nil)
	check(err)
	tools, err := session.ListTools(ctx, nil)
	check(err)
	resources, err := session.ListResources(ctx, nil)
	check(err)
	prompts, err := session.ListPrompts(ctx, nil)
	check(err)
	called, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"who": "Ada"}})
	check(err)
	approved, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "remove", Arguments: map[string]any{}})
	check(err)
	failed, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{}})
	check(err)
	read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: resources.Resources[0].URI})
	check(err)
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "tools"})
	check(err)
	var toolNames, uris, promptNames []string
	for _, tool := range tools.Tools {
		toolNames = append(toolNames, tool.Name)
	}
	for _, resource := range resources.Resources {
		uris = append(uris, resource.URI)
	}
	for _, prompt := range prompts.Prompts {
		promptNames = append(promptNames, prompt.Name)
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"tools":     toolNames,
		"called":    called.Content[0].(*mcp.TextContent).Text,
		"approved":  approved.Content[0].(*mcp.TextContent).Text,
		"failed":    failed.Content[0].(*mcp.TextContent).Text,
		"resources": uris,
		"read":      read.Contents[0].Text,
		"prompts":   promptNames,
		"prompt":    prompt.Messages[0].Content.(*mcp.TextContent).Text,
	}))
	check(session.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
