// The acceptance client: client.mjs read FILE | record FILE | hold FILE | own FILE
// | parts ID. It prints one JSON document per line.
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { createInterface } from 'node:readline';

const require = createRequire(path.join(process.env.AGENTFS_SDK, 'package.json'));
const { AgentFS } = await import(pathToFileURL(require.resolve('agentfs-sdk')).href);

const [command, file] = process.argv.slice(2);
const open = (f) => AgentFS.open(f.endsWith('.db') ? { path: f } : { id: f });
const agent = await open(file);
const print = (v) => console.log(JSON.stringify(v));

switch (command) {
  case 'read': {
    const calls = await agent.tools.getRecent(-1);
    const files = {};
    for (const c of calls) {
      for (const v of [c.parameters, c.result?.output]) {
        if (!v?.$file) continue;
        const content = await agent.fs.readFile(v.$file);
        files[v.$file] = content.length;
        if (createHash('sha256').update(content).digest('hex') !== v.sha256) throw new Error(`${v.$file} is not what its hash says`);
      }
    }
    print({ calls, stats: await agent.tools.getStats(), runs: await agent.kv.list('runs:'), steps: await agent.kv.list('steps:'), files });
    break;
  }
  case 'record': {
    const now = Math.floor(Date.now() / 1000);
    const id = await agent.tools.record('own', now - 1, now, { from: 'client' }, { ok: true });
    await agent.kv.set('own', { by: 'client' });
    await agent.fs.writeFile('/own/note.txt', 'kept');
    print({ id });
    break;
  }
  case 'hold':
    print({ held: true });
    let n = 0;
    for await (const _ of createInterface({ input: process.stdin })) { // until stdin ends
      const now = Math.floor(Date.now() / 1000);
      print({ id: await agent.tools.record("own", now, now, { n: ++n }, { ok: true }) });
    }
    break;
  case 'parts': {
    const told = await agent.kv.get('hooktrail:parts');
    const runs = {};
    for (const id of told?.parts ?? [file]) {
      const part = id === file ? agent : await open(id);
      runs[id] = { runs: (await part.kv.list('runs:')).length, calls: (await part.tools.getRecent(-1)).length };
      if (part !== agent) await part.close();
    }
    print({ part: told?.part, parts: told?.parts, runs });
    break;
  }
  case 'own':
    print({ call: await agent.tools.getByName('own'), value: await agent.kv.get('own'), note: await agent.fs.readFile('/own/note.txt', 'utf8') });
    break;
}
await agent.close();
