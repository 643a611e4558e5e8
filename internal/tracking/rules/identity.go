package rules

// identity says what makes two failures one, and where a success makes them
// good.
type identity struct {
	Type   string // of the run
	Role   string // of the step; none of a run's end
	Target string
	Text   string // the normalised error
	Class  string // of an infrastructure failure, which is one for the whole tenant
}

// key returns the id of the record of the failure.
func (i identity) key(tenant string) string {
	if i.Class != "" {
		return ID(tenant, "infrastructure", i.Class)
	}
	return ID(tenant, "failure", i.Type, i.Role, i.Target, i.Text)
}

// scope returns the id of the record of where the failure happened.
func (i identity) scope(tenant string) string { return scopeKey(tenant, i.Type, i.Role, i.Target) }

func scopeKey(tenant, runType, role, target string) string {
	return ID(tenant, "scope", runType, role, target)
}
