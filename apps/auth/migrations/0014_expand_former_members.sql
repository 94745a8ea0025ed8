-- The history of a facility shows a deleted account as "Former member NUMBER".
alter table deleted_account add column number bigint generated always as identity;
