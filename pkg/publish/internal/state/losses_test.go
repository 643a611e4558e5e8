package state

import "testing"

// FuzzParseLoss checks that only a slot that was written counts.
func FuzzParseLoss(f *testing.F) {
	f.Add(make([]byte, lossSlot))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < lossSlot {
			return
		}
		if g := parseLoss(data[:lossSlot]); g.First > 0 && len(g.Tenant) > lossSlot {
			t.Errorf("tenant of %d bytes", len(g.Tenant))
		}
	})
}
