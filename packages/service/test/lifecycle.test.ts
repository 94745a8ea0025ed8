import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { listen } from '../src/lifecycle.ts';

const lifecycle = new URL('../src/lifecycle.ts', import.meta.url).pathname;
const logging = new URL('../src/logging.ts', import.meta.url).pathname;

/** A service whose one route answers when its test says so: on a line of standard input. */
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
    for (const wake of waiters.splice(0)) wake();
  });
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
  test('stops accepting, finishes what is in flight, closes, exits 0', async () => {
    const { child: service, line, exited } = await start();
    const { port } = JSON.parse(await line('listening'));
    const answer = fetch(`http://127.0.0.1:${port}/`);
    await line('in flight');
    service.kill('SIGTERM');
    await line('stopping');
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    service.stdin?.write('go\n');
    const response = await answer;
    expect(response.headers.get('connection')).toBe('close');
    expect(await response.text()).toBe('done');
    await line('closed');
    expect(await exited).toEqual([0, null]);
  });

  test('a second one does nothing: what is in flight is still finished', async () => {
    const { child: service, line, exited } = await start();
    const { port } = JSON.parse(await line('listening'));
    const answer = fetch(`http://127.0.0.1:${port}/`);
    await line('in flight');
    service.kill('SIGTERM');
    await line('stopping');
    service.kill('SIGTERM');
    service.kill('SIGINT');
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    service.stdin?.write('go\n');
    expect(await (await answer).text()).toBe('done');
    expect(await exited).toEqual([0, null]);
  });

  test('a connection that has asked nothing yet does not hold the process', async () => {
    const { child: service, line, exited } = await start();
    const { port } = JSON.parse(await line('listening'));
    const early = connect(port, '127.0.0.1');
    await once(early, 'connect');
    service.kill('SIGTERM');
    await once(early, 'close');
    expect(await exited).toEqual([0, null]);
  }, 10_000);

  test('an idle keep-alive connection does not hold the process', async () => {
    const { child: service, line, exited } = await start();
    const { port } = JSON.parse(await line('listening'));
    const answer = fetch(`http://127.0.0.1:${port}/`);
    await line('in flight');
    service.stdin?.write('go\n');
    await (await answer).text();
    service.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends a service that does not serve yet, with 0', async (signal) => {
  const starting = `import { runService } from ${JSON.stringify(lifecycle)};
    runService(() => new Promise(() => { setInterval(() => {}, 1000); console.log('starting'); }));`;
  child = spawn(process.execPath, ['--input-type=module', '-e', starting], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  child.kill(signal);
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('a service stops when its supervisor is gone', async () => {
  const { child: service, line, exited } = await start(['pipe', 'pipe', 'pipe', 'ipc']);
  await line('listening');
  service.disconnect();
  expect(await exited).toEqual([0, null]);
});

test('a port that is taken gives one clear line and exit code 1', async () => {
  const first = await start();
  const { port } = JSON.parse(await first.line('listening'));
  const second = spawn(process.execPath, ['--input-type=module', '-e', program, String(port)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [errors, [code]] = await Promise.all([second.stderr.toArray(), once(second, 'exit')]);
  expect({ code, errors: Buffer.concat(errors).toString() }).toEqual({ code: 1, errors: `port ${port} is taken\n` });
});

describe('a request that cannot be read', () => {
  const respondToMalformed = (status: number) => ({
    headers: { 'Content-Type': 'text/plain' },
    body: `refused ${status}`,
  });

  async function say(words: string): Promise<string> {
    const { port, drain } = await listen((_request, response) => response.end('heard'), 0, { respondToMalformed });
    const socket = connect(port, '127.0.0.1');
    socket.end(words);
    const answer = await text(socket);
    await drain();
    return answer;
  }

  test.each([
    ['is no HTTP', 400, 'HELLO\r\n\r\n'],
    ['names no host', 400, 'GET / HTTP/1.1\r\n\r\n'],
    ['has two lengths', 400, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['has a header that is too long', 431, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(140_000)}\r\n\r\n`],
  ])('that %s is answered %i as other failures are, and the connection is closed', async (_what, status, words) => {
    const answer = await say(words);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\nContent-Type: text\/plain\r\n/);
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
    expect(answer.split('\r\n\r\n')[1]).toBe(`refused ${status}`);
  });

  test('an expectation that is not known is left alone, and HTTP/1.0 needs no host', async () => {
    expect(await say('GET / HTTP/1.1\r\nHost: a\r\nExpect: much\r\nConnection: close\r\n\r\n')).toMatch(/heard$/);
    expect(await say('GET / HTTP/1.0\r\n\r\n')).toMatch(/heard$/);
  });
});
