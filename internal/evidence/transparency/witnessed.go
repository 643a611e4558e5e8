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

// Cosigned lists the witnesses in a [Policy] that have cosigned a checkpoint.
type Cosigned struct {
	By     []CosignedBy
	Of     int
	Quorum bool // the quorum is met
	Log    bool // a log of the policy signed, or it lists no logs
}

// CosignedBy is the cosignature of one witness.
type CosignedBy struct {
	Witness string    `json:"witness"`
	Time    time.Time `json:"time"` // from the witness's clock, in UTC and whole seconds
}

// Met reports whether the cosignatures satisfy the policy, and the policy accepts the log.
func (c Cosigned) Met() bool { return c.Quorum && c.Log }

// String returns a count such as "2 of 3 witnesses".
func (c Cosigned) String() string {
	if c.Of == 1 {
		return fmt.Sprintf("%d of 1 witness", len(c.By))
	}
	return fmt.Sprintf("%d of %d witnesses", len(c.By), c.Of)
}

// Check returns the witnesses of the policy that have cosigned a note. Invalid cosignatures are
// ignored. The caller must verify that the note is a checkpoint of the right log.
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
