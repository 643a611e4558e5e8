package transparency

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// MaxPolicyBytes is the maximum size of a policy.
const MaxPolicyBytes = 256 << 10

const (
	maxPolicyNames = 256 // logs, and groups
	maxKeyUses     = 100 // signatures that a note can have
)

// Policy is a C2SP tlog-policy, which lists witnesses and says how many of them must cosign a
// checkpoint. It can also list the accepted logs.
//
//	witness X1 x1.example+1ff4a1b8+BMUq… https://x1.example/submit
//	witness X2 x2.example+5f0dfd2b+BAA7…
//	witness Y  y.example+98a3d2c1+BKl0…
//	group X any X1 X2
//	group both all X Y
//	quorum both
type Policy struct {
	Witnesses []Witness

	logs   []ed25519.PublicKey // of the accepted logs; empty accepts all
	groups []group
	quorum component
}

// Witness is a witness in a policy.
type Witness struct {
	Name     string
	Verifier note.Verifier
	URL      string // submission prefix; may be empty
	key      string
}

type component struct {
	number  int
	isGroup bool
}

type group struct {
	name      string
	threshold int
	members   []component
}

var errPolicy = errors.New("not a witness policy")

// ParsePolicy parses a policy. Errors contain the line number, because people write policies by
// hand.
func ParsePolicy(text []byte) (Policy, error) {
	if len(text) > MaxPolicyBytes {
		return Policy{}, fmt.Errorf("%w: longer than %d bytes", errPolicy, MaxPolicyBytes)
	}
	p := policyParser{names: make(map[string]component), member: make(map[component]string), quorum: 0}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }) {
			return Policy{}, fmt.Errorf("%w: line %d: control character (lines end with a line feed only)", errPolicy, i+1)
		}
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := p.line(fields); err != nil {
			return Policy{}, fmt.Errorf("%w: line %d: %w", errPolicy, i+1, err)
		}
	}
	if p.quorum != 1 {
		return Policy{}, fmt.Errorf("%w: want one quorum line, got %d", errPolicy, p.quorum)
	}
	return p.policy, nil
}

type policyParser struct {
	policy Policy
	names  map[string]component
	member map[component]string
	quorum int // number of quorum lines
}

func (p *policyParser) line(fields []string) error {
	switch fields[0] {
	case "log":
		return p.log(fields[1:])
	case "witness":
		return p.witness(fields[1:])
	case "group":
		return p.group(fields[1:])
	case "quorum":
		return p.setQuorum(fields[1:])
	}
	return errors.New("want log, witness, group or quorum")
}

func (p *policyParser) log(fields []string) error {
	if len(fields) < 1 || len(fields) > 2 {
		return errors.New("want log KEY [URL]")
	}
	key, alg, err := parseVerifierKey(fields[0])
	if err != nil {
		return err
	}
	if alg != algEd25519 {
		return fmt.Errorf("verifier key: type %d: a log has a key of type 1, Ed25519", alg)
	}
	if _, err := optionalURL(fields[1:]); err != nil {
		return err
	}
	same := func(o ed25519.PublicKey) bool { return o.Equal(key.key) }
	if slices.ContainsFunc(p.policy.logs, same) || len(p.policy.logs) >= maxPolicyNames {
		return fmt.Errorf("duplicate key, or more than %d logs", maxPolicyNames)
	}
	p.policy.logs = append(p.policy.logs, key.key)
	return nil
}

func (p *policyParser) witness(fields []string) error {
	if len(fields) < 2 || len(fields) > 3 {
		return errors.New("want witness NAME KEY [URL]")
	}
	v, err := NewCosigner(fields[1])
	if err != nil {
		return err
	}
	w := Witness{Name: fields[0], Verifier: v}
	if c, ok := v.(*cosigner); ok {
		w.key = string(c.key)
	}
	if w.URL, err = optionalURL(fields[2:]); err != nil {
		return err
	}
	if slices.ContainsFunc(p.policy.Witnesses, func(o Witness) bool { return o.key == w.key }) {
		return errors.New("duplicate key: one witness would count twice")
	}
	// A note with more than maxKeyUses signatures cannot be parsed.
	if len(p.policy.Witnesses) >= maxKeyUses-1 {
		return fmt.Errorf("more than %d witnesses", maxKeyUses-1)
	}
	if err := p.define(w.Name, component{number: len(p.policy.Witnesses)}); err != nil {
		return err
	}
	p.policy.Witnesses = append(p.policy.Witnesses, w)
	return nil
}

func (p *policyParser) group(fields []string) error {
	if len(fields) < 3 {
		return errors.New("want group NAME THRESHOLD MEMBER…")
	}
	g := group{name: fields[0]}
	for _, name := range fields[2:] {
		c, ok := p.names[name]
		if !ok {
			return fmt.Errorf("member %q is not defined above", name)
		}
		if other, ok := p.member[c]; ok {
			return fmt.Errorf("member %q is in group %q already", name, other)
		}
		p.member[c] = g.name
		g.members = append(g.members, c)
	}
	var err error
	if g.threshold, err = parseThreshold(fields[1], len(g.members)); err != nil {
		return err
	}
	if len(p.policy.groups) >= maxPolicyNames {
		return fmt.Errorf("more than %d groups", maxPolicyNames)
	}
	if err := p.define(g.name, component{number: len(p.policy.groups), isGroup: true}); err != nil {
		return err
	}
	p.policy.groups = append(p.policy.groups, g)
	return nil
}

func parseThreshold(text string, n int) (int, error) {
	switch text {
	case "any":
		return 1, nil
	case "all":
		return n, nil
	}
	k, err := strconv.Atoi(text)
	if err != nil || k < 1 || k > n || strconv.Itoa(k) != text {
		return 0, fmt.Errorf("threshold %q: want any, all or a number from 1 to %d", text, n)
	}
	return k, nil
}

func (p *policyParser) define(name string, c component) error {
	if name == "none" {
		return errors.New(`the name "none" is reserved`)
	}
	if _, ok := p.names[name]; ok {
		return fmt.Errorf("duplicate name %q", name)
	}
	p.names[name] = c
	return nil
}

func (p *policyParser) setQuorum(fields []string) error {
	if len(fields) != 1 {
		return errors.New("want quorum NAME, or quorum none")
	}
	p.quorum++
	if fields[0] == "none" {
		p.policy.quorum = component{number: -1}
		return nil
	}
	c, ok := p.names[fields[0]]
	if !ok {
		return fmt.Errorf("%q is not defined above", fields[0])
	}
	p.policy.quorum = c
	return nil
}

func optionalURL(fields []string) (string, error) {
	if len(fields) == 0 {
		return "", nil
	}
	u, err := url.Parse(fields[0])
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("invalid URL: want http or https without query and fragment")
	}
	return fields[0], nil
}
