package ledger

// AppendField appends the line "name value" to dst, escaped as in a [Leaf], unless value is empty.
func AppendField(dst []byte, name, value string) []byte { return appendField(dst, name+" ", value) }

// ParseField decodes a value of [AppendField]. It accepts other encodings too, so the caller must
// encode again and compare.
func ParseField(raw string) (string, error) { return unescape([]byte(raw)) }
