package ledger

// AppendField appends the line "name value" to dst, escaped as in a [Leaf], unless value is empty.
func AppendField(dst []byte, name, value string) []byte { return appendField(dst, name+" ", value) }

// ParseField decodes a value that [AppendField] wrote. It also accepts values that AppendField
// would write differently. To reject them, the caller must encode the result and compare.
func ParseField(raw string) (string, error) { return unescape([]byte(raw)) }
