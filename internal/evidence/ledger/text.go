package ledger

// AppendField appends the line "name value" with the escapes of a leaf. It appends nothing
// if the value is empty.
func AppendField(dst []byte, name, value string) []byte { return appendField(dst, name+" ", value) }

// ParseField returns the value of a line that [AppendField] appended. The caller rejects
// values that were not written in that form.
func ParseField(raw string) (string, error) { return unescape([]byte(raw)) }
