package ledger

// AppendField appends the line "name value" to dst, escaped as in a [Leaf], or nothing if value
// is empty.
func AppendField(dst []byte, name, value string) []byte { return appendField(dst, name+" ", value) }

// ParseField decodes a value that [AppendField] wrote. It also accepts other encodings of the
// value, so the caller has to encode the result again and compare the two.
func ParseField(raw string) (string, error) { return unescape([]byte(raw)) }
