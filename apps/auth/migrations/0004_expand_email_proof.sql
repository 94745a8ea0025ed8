-- When the owner of an account proved that the e-mail address is theirs. A password reset removes the social identities
-- that were linked before that time: somebody else may have created the account and linked them.
--
-- For existing accounts the time is unknown. An account that was created by a social sign-in has its address from the
-- provider. For every other account the time of this migration counts, so that a later reset removes all older links.
alter table account add column email_proven_at timestamptz;
update account set email_proven_at = case when username like '%@%' then now() else created_at end where email_verified;
