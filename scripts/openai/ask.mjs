// Asks a bridge with OpenAI's client, as it comes: what it repeats on its own, and how it reads a stream, is up to it.
// node ask.mjs BASE_URL TOKEN WHAT prints one JSON object.
import OpenAI from "openai";

const [baseURL, apiKey, what] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });
const ask = (...texts) => texts.map((content, i) => ({ role: i % 2 ? "assistant" : "user", content }));

// whole returns an answer that comes as a whole.
async function whole(messages, more = {}) {
  const got = await client.chat.completions.create({ model: "magpie", messages, ...more });
  return { text: got.choices[0].message.content, finish: got.choices[0].finish_reason, usage: got.usage };
}

// streamed returns an answer that grows.
async function streamed(messages) {
  const stream = await client.chat.completions.create({
    model: "magpie", messages, stream: true, stream_options: { include_usage: true },
  });
  const parts = [];
  let usage;
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta?.content) parts.push(chunk.choices[0].delta.content);
    if (chunk.usage) usage = chunk.usage;
  }
  return { text: parts.join(""), parts: parts.length, usage };
}

const tasks = {
  models: async () => ({
    list: (await client.models.list()).data.map((m) => m.id), one: (await client.models.retrieve("magpie")).id,
  }),
  whole: () => whole(ask("数到 3")),
  stream: () => streamed(ask("数到 4")),
  memory: async () => {
    const first = await whole(ask("我叫阿明"));
    return whole(ask("我叫阿明", first.text, "数到 2"));
  },
  rooms: async () => [await whole(ask("数到 2"), { user: "a" }), await whole(ask("数到 3"), { user: "b" }),
    await whole(ask("数到 4"), { user: "a" })],
  slowly: () => whole(ask("慢慢说")),
  "slowly streamed": () => streamed(ask("慢慢说")),
};

try {
  console.log(JSON.stringify({ got: await tasks[what]() }));
} catch (e) {
  console.log(JSON.stringify({ status: e.status, code: e.code, message: e.message }));
}
