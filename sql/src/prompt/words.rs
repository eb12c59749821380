//! Words of SQL that are offered for completion.

/// Keywords and functions.
pub const WORDS: &[&str] = &[
    "all", "and", "approx_percentile_cont(", "as", "asc", "attr(", "avg(", "between", "by", "case",
    "cast(", "coalesce(", "count(", "cross join", "date_trunc(", "desc", "describe", "distinct",
    "durations(", "else", "end", "except", "exists", "explain", "explain analyze", "first_value(",
    "from", "full join", "group by", "having", "in", "inner join", "intersect", "is not null",
    "is null", "join", "lag(", "last_value(", "lead(", "left join", "like", "limit", "max(",
    "median(", "min(", "not", "null", "nulls last", "offset", "on", "or", "order by", "over (",
    "partition by", "percentile_cont(", "rank()", "regexp_like(", "right join", "round(",
    "row_number()", "rows between", "select", "show columns from", "show tables", "split_part(",
    "starts_with(", "stddev(", "sum(", "then", "union all", "using", "values", "when", "where",
    "with",
];
