-- The DPoP proofs that were used, so that each is accepted once over all instances (RFC 9449 section 11.1).
create table dpop_proof (
  -- SHA-256 of the key's thumbprint and the jti
  id text primary key,
  expires_at timestamptz not null
);
create index dpop_proof_by_expiry on dpop_proof (expires_at);
