package auditor

import (
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/pins"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// knownLedgers is the file of pinned keys. Empty means the one of the user.
type knownLedgers string

func (k *knownLedgers) register(flags *pflag.FlagSet) {
	flags.StringVar((*string)(k), "known-ledgers", "", pins.FileUsage)
}

func (k knownLedgers) path() (string, error) {
	if k != "" {
		return string(k), nil
	}
	return pins.DefaultPath()
}

// entries returns none for a user without a configuration folder.
func (k knownLedgers) entries() ([]pins.Entry, error) {
	path, err := k.path()
	if err != nil {
		return nil, nil //nolint:nilerr // such a user has pinned nothing
	}
	return pins.Read(path)
}

// anchoring returns what can vouch for a key that the user did not name. The pins of
// dataDir are binding. An empty dataDir means evidence that lies in no data directory.
func (k knownLedgers) anchoring(dataDir string) (*verifier.Anchoring, error) {
	entries, err := k.entries()
	if err != nil {
		return nil, err
	}
	a := &verifier.Anchoring{}
	for _, e := range entries {
		list, err := pinsOf(e, dataDir)
		if err != nil {
			return nil, err
		}
		a.Pins = append(a.Pins, list...)
	}
	return a, nil
}

// given returns what can vouch for a key that the user named: the flag, unless a pin of
// the ledger's own data directory contradicts it.
func (k knownLedgers) given(dataDir string) (*verifier.Anchoring, error) {
	a := &verifier.Anchoring{Given: "--key"}
	if dataDir == "" {
		return a, nil
	}
	all, err := k.anchoring(dataDir)
	if err != nil {
		return nil, err
	}
	for _, p := range all.Pins {
		if p.Binding && p.Of != "" {
			a.Pins = append(a.Pins, p)
		}
	}
	return a, nil
}

// pinsOf returns the pins of an entry: its key and, in its own data directory, the keys
// that signed changes put in its place.
func pinsOf(e pins.Entry, dataDir string) (list []verifier.Pin, err error) {
	p := verifier.Pin{Seen: e.Seen}
	if e.Origin != pins.AnyOrigin {
		p.Origin = e.Origin
	}
	keys := []string{e.Key}
	switch own, err := pins.DirOf(dataDir); {
	case e.Dir == pins.AnyDir:
		p.Binding = p.Origin != ""
	case err != nil:
		return nil, err
	case dataDir != "" && e.Dir == own:
		p.Binding, p.Of = true, e.Dir
		keys = append(keys, pins.Follow(e.Key, rotations(dataDir))...)
	default:
		p.Of = e.Dir
	}
	for _, key := range keys {
		if p.Key, err = ledger.ParseKey(key); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// rotations returns the changes of the key of a data directory, or none if they cannot be
// read: then no pin follows them.
func rotations(dataDir string) []ledger.KeyRotation {
	_, public, err := ledger.ReadVerifier(auditor.KeyDir(dataDir))
	if err != nil {
		return nil
	}
	_, changes, err := ledger.ReadChain(auditor.KeyDir(dataDir), public)
	if err != nil {
		return nil
	}
	return changes
}

// anchorOf returns what the user has pinned about the key of a data directory.
func (k knownLedgers) anchorOf(dataDir, public string) (*verifier.Anchor, error) {
	a, err := k.anchoring(dataDir)
	if err != nil {
		return nil, err
	}
	key, err := ledger.ParseKey(public)
	if err != nil {
		return nil, err
	}
	_, found := a.Vouch(key, "", nil, func(keys ledger.Keys) bool { return keys.Chain.Index(key, 0) >= 0 })
	if found.State == verifier.AnchorNone {
		found.Remedy(ledger.KeyID(key))
	}
	return found, nil
}
