package rules_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
)

// memoryStore stores timers as records of a separate kind.
type memoryStore map[rules.Key]string

const timerKind = "timer of the test"

func (s memoryStore) Load(key rules.Key) ([]byte, error) {
	if data, ok := s[key]; ok {
		return []byte(data), nil
	}
	return nil, nil
}

func (s memoryStore) Timers(tenant string, at time.Time, limit int) ([]rules.Timer, error) {
	var list []rules.Timer
	for key, text := range s {
		if key.Tenant != tenant || key.Kind != timerKind {
			continue
		}
		due, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return nil, err
		}
		if !due.After(at) {
			list = append(list, rules.Timer{Tenant: tenant, ID: key.ID, At: due})
		}
	}
	slices.SortFunc(list, func(a, b rules.Timer) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return list[:min(len(list), limit)], nil
}

func (s memoryStore) save(c rules.Changes) {
	for _, r := range c.Records {
		if r.JSON == nil {
			delete(s, r.Key)
			continue
		}
		s[r.Key] = string(r.JSON)
	}
	for _, t := range c.Set {
		s[rules.Key{Tenant: t.Tenant, Kind: timerKind, ID: t.ID}] = t.At.Format(time.RFC3339Nano)
	}
	for _, t := range c.Cleared {
		delete(s, rules.Key{Tenant: t.Tenant, Kind: timerKind, ID: t.ID})
	}
}
