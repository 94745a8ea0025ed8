// Reference: oidc-provider with its in-memory adapter.
import { serveProvider } from './provider-server.ts';
import { tokenPeerOptions } from './token-peer.ts';

await serveProvider(tokenPeerOptions());
