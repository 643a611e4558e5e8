package transparency

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Cosigned is which witnesses of a [Policy] have cosigned a checkpoint.
type Cosigned struct {
	By     []CosignedBy // in the order of the policy
	Of     int          // witnesses of the policy
	Quorum bool         // the policy's, met
	Log    bool         // one of the policy's logs signed it too, or the policy names none
}

// CosignedBy is one witness's word.
type CosignedBy struct {
	Witness string    // its name in the policy
	Time    time.Time // when it signed, by its clock, UTC, in whole seconds
}

// Met reports whether the checkpoint is valid by the policy.
func (c Cosigned) Met() bool { return c.Quorum && c.Log }

// String says how many witnesses of how many signed: "2 of 3 witnesses".
func (c Cosigned) String() string {
	if c.Of == 1 {
		return fmt.Sprintf("%d of 1 witness", len(c.By))
	}
	return fmt.Sprintf("%d of %d witnesses", len(c.By), c.Of)
}

// Check tells which witnesses have cosigned a signed note. That the note is a
// checkpoint, and which key of its log signed it, is for the caller to check. A
// cosignature that is wrong counts as none.
func (p *Policy) Check(signed []byte) Cosigned {
	c := Cosigned{Of: len(p.Witnesses), Log: p.isOfLog(signed)}
	met := make([]bool, len(p.Witnesses))
	for i, w := range p.Witnesses {
		n, err := note.Open(signed, note.VerifierList(w.Verifier))
		if err != nil {
			continue
		}
		at, err := cosignedAt(n.Sigs[0])
		if err != nil {
			continue
		}
		met[i] = true
		c.By = append(c.By, CosignedBy{Witness: w.Name, Time: at})
	}
	c.Quorum = p.met(p.quorum, met)
	return c
}

// met tells whether a component has what it needs of the witnesses.
func (p *Policy) met(c component, witnesses []bool) bool {
	switch {
	case c.number < 0:
		return true
	case !c.isGroup:
		return witnesses[c.number]
	}
	g := p.groups[c.number]
	n := 0
	for _, m := range g.members {
		if p.met(m, witnesses) {
			n++
		}
	}
	return n >= g.threshold
}

// isOfLog tells whether the key of a log of the policy has signed the note. What
// that key is called does not count: logs may share one.
func (p *Policy) isOfLog(signed []byte) bool {
	if len(p.logs) == 0 {
		return true
	}
	split := strings.LastIndex(string(signed), "\n\n")
	if split < 0 {
		return false
	}
	text := signed[:split+1]
	for line := range strings.Lines(string(signed[split+2:])) {
		_, b64, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "— "), " ")
		signature, err := base64.StdEncoding.DecodeString(b64)
		if err != nil || len(signature) != keyIDBytes+ed25519.SignatureSize {
			continue
		}
		if slices.ContainsFunc(p.logs, func(key ed25519.PublicKey) bool {
			return ed25519.Verify(key, text, signature[keyIDBytes:])
		}) {
			return true
		}
	}
	return false
}
