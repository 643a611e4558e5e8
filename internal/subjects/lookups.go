package subjects

import "strings"

// guardedPrefix begins the subjects of chain lookups that the embedded server must check.
const guardedPrefix = "_HTLOOKUP."

// GuardLookups changes routes so that lookups of manifests go to [GuardedLookups] instead of the
// stream. The stream itself would accept wildcards in a lookup, and would reveal the manifests of
// other producers.
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

// GuardedLookups returns the filter for all redirected lookups.
func GuardedLookups(s Space) string { return guardedPrefix + s.AllChains() }

// ChainLookup converts the subject of a lookup in [GuardedLookups] to the subject of a stream
// request. It returns false if the lookup does not name exactly one producer.
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
