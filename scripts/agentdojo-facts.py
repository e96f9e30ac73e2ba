# Extracts facts from AgentDojo: which tools its tasks call in which order, where injected text is read, and what each
# injection calls. Usage: python scripts/agentdojo-facts.py > test/support/agentdojo.json, with `pip install agentdojo`.

import json
import sys

from agentdojo.functions_runtime import FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites

VERSION = "v1.2.2"
MARK = "INJECTED"
# Arguments that say where something is sent; all others are left out.
TARGETS = {"recipient", "recipients", "participants", "url", "channel", "user_email", "email"}


def targets(args):
    return {name: value for name, value in args.items() if name in TARGETS and value is not None}


def replay(suite, task):
    """Returns the calls of a task, each with whether its result contains injected text."""
    marked = {vector: MARK for vector in suite.get_injection_vector_defaults()}
    environment = task.init_environment(suite.load_and_inject_default_environment(marked))
    runtime = FunctionsRuntime(suite.tools)
    calls = []
    for call in task.ground_truth(environment.model_copy(deep=True)):
        result, error = runtime.run_function(environment, call.function, call.args)
        if error is not None:
            print(f"{suite.name} {task.ID}: {call.function}: {error}", file=sys.stderr)
        calls.append([call.function, targets(call.args), MARK in str(result)])
    return calls


def goal(suite, task):
    environment = suite.load_and_inject_default_environment({})
    return [[call.function, targets(call.args)] for call in task.ground_truth(environment)]


def known(suite):
    """Returns whom the environment names before the task: its address book, and whom the user met, shared with or paid."""
    environment = suite.load_and_inject_default_environment({})
    found = set()
    if hasattr(environment, "inbox"):
        found |= {contact.email for contact in environment.inbox.contact_list}
    if hasattr(environment, "calendar"):
        found |= {one for event in environment.calendar.events.values() for one in event.participants}
    if hasattr(environment, "cloud_drive"):
        found |= {one for file in environment.cloud_drive.files.values() for one in file.shared_with}
    if hasattr(environment, "bank_account"):
        account = environment.bank_account
        found |= {one.recipient for one in [*account.transactions, *account.scheduled_transactions]}
    if hasattr(environment, "slack"):
        found |= {*environment.slack.users, *environment.slack.channels}
    return sorted(str(one) for one in found - {"me"})


facts = {}
for name, suite in get_suites(VERSION).items():
    facts[name] = {
        "known": known(suite),
        "tools": sorted(tool.name for tool in suite.tools),
        "tasks": {task: replay(suite, suite.get_user_task_by_id(task)) for task in sorted(suite.user_tasks)},
        "injections": {task: goal(suite, suite.get_injection_task_by_id(task)) for task in sorted(suite.injection_tasks)},
    }
json.dump({"version": VERSION, "suites": facts}, sys.stdout, separators=(",", ":"), sort_keys=True)
print()
