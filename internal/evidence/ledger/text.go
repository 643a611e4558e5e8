package ledger

// AppendField appends the line "name value" to dst, with value escaped as in a [Leaf]. If value is
// empty, it appends nothing.
func AppendField(dst []byte, name, value string) []byte { return appendField(dst, name+" ", value) }

// ParseField decodes a value from [AppendField]. It also accepts other encodings of this value. To
// reject them, the caller must encode the result and compare.
func ParseField(raw string) (string, error) { return unescape([]byte(raw)) }
