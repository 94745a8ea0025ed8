-- The audit trail can only grow. The service may insert into it and read it. The owner of the table deletes old events
-- (src/commands/prune-audit.ts).
do $$
declare
  grantee text;
begin
  for grantee in
    select distinct acl.grantee::regrole::text
      from pg_class c cross join lateral aclexplode(c.relacl) acl
     where c.oid = 'audit_event'::regclass and acl.grantee <> c.relowner and acl.grantee <> 0
  loop
    execute format('revoke update, delete, truncate on audit_event from %s', grantee);
  end loop;
end
$$;
