package ledger

// AppendField appends the line "name value" to dst, escaped like the values of a leaf. It
// appends nothing if value is empty.
func AppendField(dst []byte, name, value string) []byte { return appendField(dst, name+" ", value) }

// ParseField returns the value in raw, the part after the name in a line from [AppendField].
// The caller rejects values that AppendField would have written differently.
func ParseField(raw string) (string, error) { return unescape([]byte(raw)) }
