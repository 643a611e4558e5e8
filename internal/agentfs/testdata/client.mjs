// The acceptance client: client.mjs read FILE | record FILE | hold FILE.
// It prints one JSON document per line.
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.env.AGENTFS_SDK, 'package.json'));
const { AgentFS } = await import(pathToFileURL(require.resolve('agentfs-sdk')).href);

const [command, file] = process.argv.slice(2);
const agent = await AgentFS.open({ path: file });
const print = (v) => console.log(JSON.stringify(v));

switch (command) {
  case 'read': {
    const calls = await agent.tools.getRecent(-1);
    const files = {};
    for (const c of calls) {
      for (const v of [c.parameters, c.result?.output]) {
        if (v?.$file) files[v.$file] = (await agent.fs.readFile(v.$file)).length;
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
    for await (const _ of process.stdin) { /* until stdin ends */ }
    break;
  case 'own':
    print({ call: await agent.tools.getByName('own'), value: await agent.kv.get('own'), note: await agent.fs.readFile('/own/note.txt', 'utf8') });
    break;
}
await agent.close();
