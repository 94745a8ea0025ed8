// Plain JavaScript, so that an older Node.js gets a clear line instead of a syntax error; all else is in src/main.ts.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `Node.js 24 or later is needed here, and this is ${process.version} (${process.execPath}). ` +
      'On Linux `npm ci` brings it along (not with --omit=optional); elsewhere install it from https://nodejs.org.\n',
  );
  process.exit(1);
}
await import('./src/main.ts');
