-- The token of a link is an HMAC of this seed, so that a live link can be mailed again. Null for links of older releases.
alter table one_time_link add column seed text;
