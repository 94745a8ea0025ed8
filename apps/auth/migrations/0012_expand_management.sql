-- Operators: they invite owners, and their changes are in the audit trail. `detail` of such an event has the field
-- `operator`: the client of the management API, or `import`.
alter table invitation drop constraint invitation_role_known, add constraint invitation_role_known
  check (role in ('owner', 'staff', 'bookings-manager', 'facility-manager'));

create index audit_event_operator on audit_event (id) where detail ? 'operator';
