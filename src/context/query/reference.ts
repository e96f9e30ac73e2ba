// The short JSONata reference for callers who request it or send a malformed expression (CTX-32).

export const QUERY_REFERENCE = `JSONata in short. $ is the document (or the current item), $$ always the document.

Paths       a.b.c   items.name (of every item)   *  (every field)   **.id  (at any depth)   \`odd name\`
Filter      $[amount > 100]   items[status = "open" and amount >= 5]   items[0]   items[-1]   items[[0..9]]
Pluck       $.{ "id": id, "subject": subject }
Group       \${ $substring(ts,0,10): $count($) }   \${ country: $sum(amount) }
Sort        $^(>created)   (> descending, < ascending)   $^(name, >amount)[[0..9]]
Operators   + - * / %   &  (joins text)   = != < <= > >=   in   and or   cond ? a : b   [1..5]
Numbers     $sum $count $max $min $average $round $abs $floor $ceil $power $sqrt $number
Text        $string $length $substring $substringBefore $substringAfter $uppercase $lowercase $trim $pad
            $contains $split $join $replace $match   (regular expressions: /^re/i)
Arrays      $append $distinct $reverse $sort $zip $shuffle   $map(x, function($v, $i) {…})   $filter   $reduce
Objects     $keys $lookup $merge $spread $each $sift $type $exists
Dates       $toMillis("2026-11-15T00:00:00Z")   $fromMillis(ms, "[Y0001]-[M01]-[D01]")
Variables   ( $x := items[0]; $f := function($n) { $n * 2 }; $f($x.amount) )

A missing field gives no result and no error. One match is a value, several are an array; path[] is always an array.
`;
