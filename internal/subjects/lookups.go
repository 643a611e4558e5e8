package subjects

import "strings"

// guardedPrefix is in front of the chain in a lookup that the embedded server checks.
const guardedPrefix = "_HTLOOKUP."

// GuardLookups returns routes whose lookups of chains lead to [GuardedLookups] instead of
// the stream. The stream also accepts wildcards, which would reveal the ids and the last
// manifests of other producers.
func GuardLookups(s Space, routes []Route) []Route {
	guarded := make([]Route, 0, len(routes))
	for _, r := range routes {
		if chain, ok := strings.CutPrefix(r.To, chainLookup(s, "")); ok {
			r.To = guardedPrefix + chain
		}
		guarded = append(guarded, r)
	}
	return guarded
}

// GuardedLookups returns the filter for the lookups of guarded routes.
func GuardedLookups(s Space) string { return guardedPrefix + s.AllChains() }

// ChainLookup returns the request to the stream for a guarded lookup. It returns false
// unless the lookup names one chain.
func ChainLookup(s Space, guarded string) (subject string, ok bool) {
	chain, ok := strings.CutPrefix(guarded, guardedPrefix)
	if !ok {
		return "", false
	}
	if a, err := s.Parse(chain); err != nil || !a.Manifest {
		return "", false
	}
	return chainLookup(s, chain), true
}
