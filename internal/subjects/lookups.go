package subjects

import "strings"

// guardedPrefix marks lookups of chains that the embedded server must check.
const guardedPrefix = "_HTLOOKUP."

// GuardLookups redirects the chain lookups in routes to [GuardedLookups]. Without this, the stream
// would also answer lookups with wildcards and reveal the ids and last manifests of other
// producers.
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

// ChainLookup converts the subject of a guarded lookup to the subject of a request to the stream.
// The lookup must name exactly one chain. Otherwise ChainLookup returns false.
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
