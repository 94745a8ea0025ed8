-- Rights that end when a client loses scopes or grant types, and when a facility begins to require a second factor; and
-- an audit trail that the service can erase only for accounts that it has deleted.

-- `default` is the default value of OpenID Connect.
create function lost_metadata(before jsonb, later jsonb, field text, "default" text) returns boolean immutable
language sql as $$
  select not coalesce(before -> field, jsonb_build_array("default")) <@ coalesce(later -> field, jsonb_build_array("default"))
$$;
create constraint trigger client_narrowed after update of scope, metadata on client deferrable initially deferred
  for each row when (
    not string_to_array(old.scope, ' ') <@ string_to_array(new.scope, ' ')
    or lost_metadata(old.metadata, new.metadata, 'grant_types', 'authorization_code')
    -- The response type `token` implies the grant type `implicit`.
    or lost_metadata(old.metadata, new.metadata, 'response_types', 'code'))
  execute function revoke_client();

-- Users with a second factor sign in with it, so their tokens stay. A service account would lose its personal access
-- tokens, which need no second factor.
create function revoke_members_without_factor() returns trigger language plpgsql as $$
begin
  perform add_revocation('access ' || m.account_id || ' ' || new.id, interval '90 days')
    from membership m join account a on a.id = m.account_id
   where m.facility_id = new.id and a.kind = 'user'
     and not exists (select from authenticator_app f where f.account_id = a.id)
     and not exists (select from passkey f where f.account_id = a.id);
  return null;
end
$$;
create constraint trigger facility_protected after update of requires_second_factor on facility
  deferrable initially deferred
  for each row when (new.requires_second_factor and not old.requires_second_factor)
  execute function revoke_members_without_factor();

drop function erase_audit_events(text, text[]);

-- Only the functions below may call it. `emails` are in lower case.
create function erase_person(erased_id text, emails text[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  update public.audit_event set address = null where account_id = erased_id and address is not null;
  update public.audit_event set detail = detail - 'name'
   where detail ?| array['account', 'email', 'invitation'] and detail ->> 'account' = erased_id and detail ? 'name';
  update public.audit_event set detail = detail - 'email'
   where detail ?| array['account', 'email', 'invitation'] and detail ? 'email'
     and (lower(detail ->> 'email') = any (emails)
          or detail ->> 'invitation' in (
               select detail ->> 'invitation' from public.audit_event
                where account_id = erased_id and kind = 'invitation.accepted'));
end
$$;
revoke execute on function erase_person from public;

-- Erases events that were stored after the deletion of the account.
create function erase_audit_events(erased_id text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from public.deleted_account where id = erased_id)
     or exists (select from public.account where id = erased_id) then
    raise exception 'the account % was not deleted', erased_id;
  end if;
  perform public.erase_person(erased_id, '{}');
end
$$;

-- Anybody can register with the address of somebody else, so an address that was not confirmed stays in the trail.
create function forget_account() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from public.deleted_account where id = old.id) then
    perform public.erase_person(old.id, case when old.email_verified or old.email is null
      then array[lower(old.username), lower(coalesce(old.email, old.username))] else '{}' end);
  end if;
  return null;
end
$$;
create trigger account_forgotten after delete on account for each row execute function forget_account();
