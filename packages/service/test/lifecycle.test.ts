// Tests how the process of a service starts, and how it stops after a signal.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from '@jest/globals';

const lifecycle = new URL('../src/lifecycle.ts', import.meta.url).pathname;
const logging = new URL('../src/logging.ts', import.meta.url).pathname;

/** The source of a service that responds to requests only when the test writes to its standard input. */
const program = `
  import { runService, serve } from ${JSON.stringify(lifecycle)};
  import { createLogger } from ${JSON.stringify(logging)};
  const waiting = [];
  process.stdin.on('data', () => { for (const response of waiting.splice(0)) response.end('done'); });
  const handler = (request, response) => { waiting.push(response); console.log('{"msg":"in flight"}'); };
  runService(() => serve({
    logger: createLogger({ service: 'test', level: 'info' }),
    listeners: [{ name: 'http', handler, port: Number(process.argv[1] ?? 0) }],
    close: async () => { console.log('{"msg":"closed"}'); process.stdin.destroy(); },
  }));
`;

let child: ChildProcess | undefined;
afterEach(() => {
  child?.kill('SIGKILL');
});

async function start(stdio: ('pipe' | 'ipc')[] = ['pipe', 'pipe', 'pipe'], port = 0) {
  child = spawn(process.execPath, ['--input-type=module', '-e', program, String(port)], { stdio });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const seen: string[] = [];
  const waiters: (() => void)[] = [];
  lines.on('line', (line) => {
    seen.push(line);
    for (const resolve of waiters.splice(0)) resolve();
  });
  /** Waits for a line of the log that contains `text`. */
  const line = async (text: string): Promise<string> => {
    for (;;) {
      const found = seen.find((candidate) => candidate.includes(text));
      if (found) return found;
      await new Promise<void>((resolve) => waiters.push(resolve));
    }
  };
  return { child, line, exited: once(child, 'exit') };
}

describe('SIGTERM', () => {
  test('stops accepting, finishes the requests in flight, closes the resources and exits with code 0', async () => {
    const { child: service, line, exited } = await start();
    const { port } = JSON.parse(await line('listening'));
    const responding = fetch(`http://127.0.0.1:${port}/`);
    await line('in flight');
    service.kill('SIGTERM');
    await line('stopping');
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    service.stdin?.write('go\n');
    const response = await responding;
    expect(response.headers.get('connection')).toBe('close');
    expect(await response.text()).toBe('done');
    await line('closed');
    expect(await exited).toEqual([0, null]);
  });

  test('has no effect if it is sent a second time: requests in flight are still finished', async () => {
    const { child: service, line, exited } = await start();
    const { port } = JSON.parse(await line('listening'));
    const responding = fetch(`http://127.0.0.1:${port}/`);
    await line('in flight');
    service.kill('SIGTERM');
    await line('stopping');
    service.kill('SIGTERM');
    service.kill('SIGINT');
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    service.stdin?.write('go\n');
    expect(await (await responding).text()).toBe('done');
    expect(await exited).toEqual([0, null]);
  });

  test('closes a connection that has sent nothing', async () => {
    const { child: service, line, exited } = await start();
    const { port } = JSON.parse(await line('listening'));
    const early = connect(port, '127.0.0.1');
    await once(early, 'connect');
    service.kill('SIGTERM');
    await once(early, 'close');
    expect(await exited).toEqual([0, null]);
  }, 10_000);

  test('closes an idle keep-alive connection', async () => {
    const { child: service, line, exited } = await start();
    const { port } = JSON.parse(await line('listening'));
    const responding = fetch(`http://127.0.0.1:${port}/`);
    await line('in flight');
    service.stdin?.write('go\n');
    await (await responding).text();
    service.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends a service that is still starting with exit code 0',
  async (signal) => {
    const starting = `import { runService } from ${JSON.stringify(lifecycle)};
    runService(() => new Promise(() => { setInterval(() => {}, 1000); console.log('starting'); }));`;
    child = spawn(process.execPath, ['--input-type=module', '-e', starting], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([0, null]);
  },
);

test('a service stops when its parent process closes the IPC channel', async () => {
  const { child: service, line, exited } = await start(['pipe', 'pipe', 'pipe', 'ipc']);
  await line('listening');
  service.disconnect();
  expect(await exited).toEqual([0, null]);
});

test('if the port is in use, a service prints one line and exits with code 1', async () => {
  const first = await start();
  const { port } = JSON.parse(await first.line('listening'));
  const second = spawn(process.execPath, ['--input-type=module', '-e', program, String(port)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [errors, [code]] = await Promise.all([second.stderr.toArray(), once(second, 'exit')]);
  expect({ code, errors: Buffer.concat(errors).toString() }).toEqual({ code: 1, errors: `port ${port} is taken\n` });
});
