// Checks the version of Node.js, and then runs src/main.ts. This file is plain JavaScript, so that an older Node.js
// prints a clear message instead of a syntax error.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `Node.js 24 or later is needed here, and this is ${process.version} (${process.execPath}). ` +
      'On Linux `npm ci` brings it along (not with --omit=optional); elsewhere install it from https://nodejs.org.\n',
  );
  process.exit(1);
}
await import('./src/main.ts');
