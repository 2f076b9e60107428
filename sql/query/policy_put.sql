-- policy_put.sql: what this daemon runs its providers with, arrays of one element a provider: $1 names, $2 classes,
-- $3 orders, $4 attempts, $5 base and $6 cap of an exponential backoff (ms; 0 where it is a list), $7 number of a list's
-- steps, $8 all steps one after the other (ms), $9 defer, $10 defer_limit, $11 timeout (ms). Rows that say so already
-- are left alone. Index: provider_policy_pkey.
insert into inboxd.provider_policy as p (provider, class, "order", attempts, backoff_base, backoff_cap, backoff_steps, defer,
                                         defer_limit, timeout)
select u.provider, u.class, u."order", u.attempts,
       case when u.steps = 0 then u.base * interval '1 ms' end,
       case when u.steps = 0 then u.cap * interval '1 ms' end,
       case when u.steps > 0 then (
           select array_agg(s.ms * interval '1 ms' order by s.n)
             from unnest($8::bigint[]) with ordinality as s (ms, n)
            where s.n > u.before and s.n <= u.before + u.steps) end,
       u.defer * interval '1 ms', u.defer_limit * interval '1 ms', u.timeout * interval '1 ms'
  from (select a.*, sum(a.steps) over (order by a.n) - a.steps as before
          from unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::bigint[], $7::int[], $9::bigint[],
                      $10::bigint[], $11::bigint[])
               with ordinality as a (provider, class, "order", attempts, base, cap, steps, defer, defer_limit, timeout, n)) u
 order by u.provider collate "C"
    on conflict (provider) do update
       set class = excluded.class, "order" = excluded."order", attempts = excluded.attempts,
           backoff_base = excluded.backoff_base, backoff_cap = excluded.backoff_cap, backoff_steps = excluded.backoff_steps,
           defer = excluded.defer, defer_limit = excluded.defer_limit, timeout = excluded.timeout
     where (p.class, p."order", p.attempts, p.backoff_base, p.backoff_cap, p.backoff_steps, p.defer, p.defer_limit, p.timeout)
           is distinct from (excluded.class, excluded."order", excluded.attempts, excluded.backoff_base, excluded.backoff_cap,
                             excluded.backoff_steps, excluded.defer, excluded.defer_limit, excluded.timeout)
