// Starts the embedded server, prints its address, and runs until it is stopped or killed. The tests start this program
// in place of the launcher of `npm start`.
import { startEmbeddedPostgres } from '../src/server.ts';

const [options] = process.argv.slice(2);
try {
  const server = await startEmbeddedPostgres({ fsync: false, ...JSON.parse(options ?? '') });
  process.on('SIGTERM', async () => {
    await server.stop();
    process.exit(0);
  });
  setInterval(() => {}, 60_000);
  // Print the line last, because the test may send a signal as soon as it has read the line.
  process.stdout.write(
    `${JSON.stringify({ url: server.url, dataPath: server.dataPath, port: server.port, recovered: server.recovered })}\n`,
  );
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: (error as Error).message })}\n`);
  process.exit(1);
}
