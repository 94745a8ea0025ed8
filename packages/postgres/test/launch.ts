// A process that starts the embedded server and lives until it is told or killed: what the tests do to a launcher, they do to this.
import { startEmbeddedPostgres } from '../src/server.ts';

const [options] = process.argv.slice(2);
try {
  const server = await startEmbeddedPostgres({ fsync: false, ...JSON.parse(options ?? '') });
  process.on('SIGTERM', async () => {
    await server.stop();
    process.exit(0);
  });
  setInterval(() => {}, 60_000);
  // Last: whoever reads this may send a signal at once.
  process.stdout.write(
    `${JSON.stringify({ url: server.url, dataPath: server.dataPath, port: server.port, recovered: server.recovered })}\n`,
  );
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: (error as Error).message })}\n`);
  process.exit(1);
}
