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

// MaxPolicyBytes is how long a policy may be.
const MaxPolicyBytes = 256 << 10

const (
	maxPolicyNames = 256 // logs, witnesses and groups, of each so many
	maxKeyUses     = 100 // signatures that a note may have
)

// Policy is a C2SP tlog-policy: which witnesses there are, and how many of them
// have to have cosigned a checkpoint. Logs may be named too.
//
//	witness X1 x1.example+1ff4a1b8+BMUq… https://x1.example/submit
//	witness X2 x2.example+5f0dfd2b+BAA7…
//	witness Y  y.example+98a3d2c1+BKl0…
//	group X any X1 X2
//	group both all X Y
//	quorum both
type Policy struct {
	Witnesses []Witness

	logs   []ed25519.PublicKey // that may have signed it; empty: any
	groups []group
	quorum component
}

// Witness is a witness of a policy.
type Witness struct {
	Name     string        // in the policy
	Verifier note.Verifier // of its cosignatures
	URL      string        // where it takes checkpoints, its submission prefix; empty: none is named
	key      string        // the public key
}

// component is a witness or a group. A negative number is none.
type component struct {
	number  int
	isGroup bool
}

// group is met when so many of its members are.
type group struct {
	name      string
	threshold int
	members   []component
}

// errPolicy is wrapped by every refusal of [ParsePolicy].
var errPolicy = errors.New("not a witness policy")

// ParsePolicy reads a policy. Its errors name the line.
func ParsePolicy(text []byte) (Policy, error) {
	if len(text) > MaxPolicyBytes {
		return Policy{}, fmt.Errorf("%w: it has more than %d bytes", errPolicy, MaxPolicyBytes)
	}
	p := policyParser{names: make(map[string]component), member: make(map[component]string), quorum: 0}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }) {
			return Policy{}, fmt.Errorf("%w: line %d: it has a control character (lines end with a line feed alone)", errPolicy, i+1)
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
		return Policy{}, fmt.Errorf("%w: it needs one line that says quorum, and has %d", errPolicy, p.quorum)
	}
	return p.policy, nil
}

// policyParser is a policy on its way.
type policyParser struct {
	policy Policy
	names  map[string]component
	member map[component]string // the group that has it
	quorum int                  // lines that say so
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
	return errors.New("it begins with none of log, witness, group and quorum")
}

func (p *policyParser) log(fields []string) error {
	if len(fields) < 1 || len(fields) > 2 {
		return errors.New("a log has a verifier key, and perhaps a URL")
	}
	key, alg, err := parseVerifierKey(fields[0])
	if err != nil {
		return err
	}
	if alg != algEd25519 {
		return fmt.Errorf("verifier key: of type %d: a log has one of type 1, Ed25519", alg)
	}
	if _, err := optionalURL(fields[1:]); err != nil {
		return err
	}
	same := func(o ed25519.PublicKey) bool { return o.Equal(key.key) }
	if slices.ContainsFunc(p.policy.logs, same) || len(p.policy.logs) >= maxPolicyNames {
		return fmt.Errorf("its key is there already, or there are more than %d logs", maxPolicyNames)
	}
	p.policy.logs = append(p.policy.logs, key.key)
	return nil
}

func (p *policyParser) witness(fields []string) error {
	if len(fields) < 2 || len(fields) > 3 {
		return errors.New("a witness has a name, a verifier key, and perhaps a URL")
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
		return errors.New("its key is there already: one witness would count twice")
	}
	// A note with more signatures than that cannot be read.
	if len(p.policy.Witnesses) >= maxKeyUses-1 {
		return fmt.Errorf("there are more than %d witnesses", maxKeyUses-1)
	}
	if err := p.define(w.Name, component{number: len(p.policy.Witnesses)}); err != nil {
		return err
	}
	p.policy.Witnesses = append(p.policy.Witnesses, w)
	return nil
}

func (p *policyParser) group(fields []string) error {
	if len(fields) < 3 {
		return errors.New("a group has a name, how many of its members have to sign, and members")
	}
	g := group{name: fields[0]}
	for _, name := range fields[2:] {
		c, ok := p.names[name]
		if !ok {
			return fmt.Errorf("no line above it defines its member %q", name)
		}
		if other, ok := p.member[c]; ok {
			return fmt.Errorf("its member %q is one of group %q already", name, other)
		}
		p.member[c] = g.name
		g.members = append(g.members, c)
	}
	var err error
	if g.threshold, err = parseThreshold(fields[1], len(g.members)); err != nil {
		return err
	}
	if len(p.policy.groups) >= maxPolicyNames {
		return fmt.Errorf("there are more than %d groups", maxPolicyNames)
	}
	if err := p.define(g.name, component{number: len(p.policy.groups), isGroup: true}); err != nil {
		return err
	}
	p.policy.groups = append(p.policy.groups, g)
	return nil
}

// parseThreshold reads how many of n members have to sign.
func parseThreshold(text string, n int) (int, error) {
	switch text {
	case "any":
		return 1, nil
	case "all":
		return n, nil
	}
	k, err := strconv.Atoi(text)
	if err != nil || k < 1 || k > n || strconv.Itoa(k) != text {
		return 0, fmt.Errorf("%q is neither any nor all nor a number from 1 to %d", text, n)
	}
	return k, nil
}

func (p *policyParser) define(name string, c component) error {
	if name == "none" {
		return errors.New(`the name "none" stands for no witness at all`)
	}
	if _, ok := p.names[name]; ok {
		return fmt.Errorf("the name %q is taken", name)
	}
	p.names[name] = c
	return nil
}

func (p *policyParser) setQuorum(fields []string) error {
	if len(fields) != 1 {
		return errors.New("a quorum is the name of a witness or group, or none")
	}
	p.quorum++
	if fields[0] == "none" {
		p.policy.quorum = component{number: -1}
		return nil
	}
	c, ok := p.names[fields[0]]
	if !ok {
		return fmt.Errorf("no line above it defines %q", fields[0])
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
		return "", errors.New("its URL is not one of http or https, without query and fragment")
	}
	return fields[0], nil
}
