-- handler_state.sql: $1 schema, $2 function. Whether handlers of that name can be called: `found`, there is such a function
-- that takes an inboxd.event; `allowed`, this role may use the schema and execute it.
select count(*) > 0 as found,
       coalesce(bool_or(has_schema_privilege(n.oid, 'usage') and has_function_privilege(p.oid, 'execute')), false) as allowed
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
 where n.nspname = $1::text and p.proname = $2::text and p.prokind = 'f'
   and p.proargtypes[0] = 'inboxd.event'::regtype and p.pronargs - p.pronargdefaults <= 1
