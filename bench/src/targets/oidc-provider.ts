// Serves oidc-provider with its own adapter, which stores everything in memory. The benchmark compares auth with this
// server.
import { serveProvider } from './provider-server.ts';
import { tokenPeerOptions } from './token-peer.ts';

await serveProvider(tokenPeerOptions());
