// Tests how the process of a service starts, and how it stops after a signal or when its parent process disconnects.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from '@jest/globals';

const lifecycle = new URL('../src/lifecycle.ts', import.meta.url).pathname;
const logging = new URL('../src/logging.ts', import.meta.url).pathname;

/**
 * The source of a service that responds to requests only when the test writes to its standard input. `process.argv[1]`
 * is its first argument, because `node -e` runs no file.
 */
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

/** The source of a service that never finishes its start. The timer keeps the process running. */
const startingProgram = `
  import { runService } from ${JSON.stringify(lifecycle)};
  runService(() => new Promise(() => { setInterval(() => {}, 1000); console.log('starting'); }));
`;

let child: ChildProcess | undefined;
afterEach(() => {
  child?.kill('SIGKILL');
});

async function startService({ ipc = false } = {}) {
  const service = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'pipe', ...(ipc ? ['ipc' as const] : [])],
  });
  child = service;
  const logLines: string[] = [];
  const waiters: (() => void)[] = [];
  createInterface({ input: service.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    logLines.push(line);
    for (const resolve of waiters.splice(0)) resolve();
  });
  const waitForLine = async (text: string): Promise<string> => {
    for (;;) {
      const found = logLines.find((line) => line.includes(text));
      if (found) return found;
      await new Promise<void>((resolve) => waiters.push(resolve));
    }
  };
  const exited = once(service, 'exit');
  const { port } = JSON.parse(await waitForLine('listening')) as { port: number };
  const request = () => fetch(`http://127.0.0.1:${port}/`);
  /** Makes the service respond to the requests in flight. */
  const respond = () => service.stdin?.write('go\n');
  return { service, port, waitForLine, exited, request, respond };
}

describe('SIGTERM', () => {
  test('stops accepting, finishes requests in flight despite later signals, closes resources, exits with 0', async () => {
    const { service, waitForLine, exited, request, respond } = await startService();
    const requestInFlight = request();
    await waitForLine('in flight');
    service.kill('SIGTERM');
    await waitForLine('stopping');
    service.kill('SIGTERM');
    service.kill('SIGINT');
    await expect(request()).rejects.toThrow();
    respond();
    const response = await requestInFlight;
    expect(response.headers.get('connection')).toBe('close');
    expect(await response.text()).toBe('done');
    await waitForLine('closed');
    expect(await exited).toEqual([0, null]);
  });

  test('closes a connection that has sent nothing', async () => {
    const { service, port, exited } = await startService();
    const connection = connect(port, '127.0.0.1');
    await once(connection, 'connect');
    service.kill('SIGTERM');
    await once(connection, 'close');
    expect(await exited).toEqual([0, null]);
  }, 10_000);

  test('closes an idle keep-alive connection', async () => {
    const { service, waitForLine, exited, request, respond } = await startService();
    const requestInFlight = request();
    await waitForLine('in flight');
    respond();
    await (await requestInFlight).text();
    service.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends a service that is still starting with exit code 0',
  async (signal) => {
    const service = spawn(process.execPath, ['--input-type=module', '-e', startingProgram], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child = service;
    await once(service.stdout, 'data');
    service.kill(signal);
    expect(await once(service, 'exit')).toEqual([0, null]);
  },
);

test('a service stops when its parent process closes the IPC channel', async () => {
  const { service, exited } = await startService({ ipc: true });
  service.disconnect();
  expect(await exited).toEqual([0, null]);
});

test('a service whose port is in use prints one line and exits with code 1', async () => {
  const { port } = await startService();
  const secondService = spawn(process.execPath, ['--input-type=module', '-e', program, String(port)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [errors, [code]] = await Promise.all([secondService.stderr.toArray(), once(secondService, 'exit')]);
  expect({ code, errors: Buffer.concat(errors).toString() }).toEqual({ code: 1, errors: `port ${port} is taken\n` });
});
