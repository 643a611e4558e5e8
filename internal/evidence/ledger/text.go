package ledger

// AppendField appends the line "name value" to dst, escaped as in a [Leaf]. It appends nothing
// if value is empty.
func AppendField(dst []byte, name, value string) []byte { return appendField(dst, name+" ", value) }

// ParseField decodes raw, the value of a line that [AppendField] wrote. The caller rejects values
// that AppendField would have written differently.
func ParseField(raw string) (string, error) { return unescape([]byte(raw)) }
