// Steps of the tasks of LiveMCPBench, written by hand as a model would search for them, by the hash of the task.

import { createHash } from 'node:crypto';

const STEPS = {
  d3adb435: [
    'convert a place name to coordinates',
    'find a fair meeting point for several locations',
    'find entertainment places near a location',
    'get the address of coordinates',
  ],
  '240d600b': [
    'get historical stock prices of the past year',
    'get news about a company',
    'get analyst recommendations for a stock',
    'create a PowerPoint presentation and add slides',
    'save the presentation to a file',
  ],
  a5d79d78: [
    'get the current date',
    'get the station codes of cities',
    'search train tickets between two stations on a date',
  ],
  aaf467b0: [
    'look up the documentation of Ant Design',
    'search the web for a quick start guide',
    'write a markdown file',
  ],
  '3ef7cebf': ['get the transcript of a YouTube video', 'summarize the key points', 'create a mind map'],
  e9f06805: ['search Wikipedia for the history of AI', 'read a Wikipedia article', 'write an HTML file'],
  '144d28bf': [
    "get tomorrow's date",
    'get station codes of Beijing and Tianjin',
    'query train tickets for the round trip',
    'find tourist attractions in a city',
    'check the weather forecast',
  ],
  b506828c: [
    'recommend meals for the week with allergies and avoided ingredients',
    'make a shopping list of ingredients',
  ],
  a2aa4dfe: ['recommend dishes for a number of people', 'get the recipe of a dish with ingredients and preparation'],
  '04be6c53': [
    'list mid lane champions and their win rate',
    'get recommended item build, runes and summoner spells of a champion',
  ],
  '52e25ff0': ['search a museum collection for a painting by title', 'get background information about an artwork'],
  '37e254d3': ['search products on Amazon', 'open a web page in the browser and read the price'],
  '5df14267': [
    'search the latest news about Apple products',
    'fetch the content of a web page',
    'create a PowerPoint presentation',
    'add slides with text',
    'save the presentation',
  ],
  c11f1a67: ['resolve the library id of Next.js', 'get documentation of a library', 'write code to a file'],
  '1264538c': [
    'compare npm packages',
    'scan dependencies for vulnerabilities',
    'get the bundle size of an npm package',
    'check package quality and maintenance',
    'write a markdown report',
  ],
  d24ad1e6: [
    'get the current stock price of a Korean company',
    'get the market capitalization',
    'calculate the percentage change',
  ],
  de0829ae: ['list shadcn/ui components', 'get details and usage examples of a component', 'save code to a file'],
  '435f1b2e': [
    'find the system requirements of a game',
    'search PC parts and their prices',
    'recommend a PC build within a budget',
  ],
  b89a3ab9: ['decode a base64 image', 'describe what an image shows'],
  c66de92b: [
    'search Wikipedia for convolutional neural networks',
    'get a summary of a Wikipedia article',
    'write a Python file',
  ],
  '96c19b30': [
    'convert a street address to coordinates',
    'analyze the livability of a neighborhood within a radius',
    'find amenities, schools and hospitals nearby',
  ],
  '3c5a4fd2': ['search recent news about Bitcoin', 'get the crypto fear and greed index of the last days'],
  '463861fc': ['get the weather of a city in the last days'],
  '8c4a6364': [
    'get the weather of a city',
    'find the coordinates of the hotel',
    'find tourist attractions nearby',
    'get the address of coordinates',
  ],
  '683aa58b': ['get a Hacker News story with its comments', 'summarize comments'],
  '5e6c6b3f': ['choose a random item from a list'],
  '25b8c7be': ['read two text files', 'compare two texts and show different lines'],
  c511bf12: ['calculate a sum', 'generate a pie chart', 'get the exchange rate of RMB to USD'],
  '350876e2': ['get the current date', 'look up the Chinese almanac for auspicious dates'],
  bcd86fd7: [
    'get stock prices over a date range',
    'get the income statement of a company',
    'get the cash flow statement',
    'get the balance sheet',
    'get recent news about a company',
  ],
};

/** Returns the steps of a task, or undefined. */
export function stepsOf(task) {
  return STEPS[createHash('sha256').update(task).digest('hex').slice(0, 8)];
}
