package auditor

import (
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/pins"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

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

func (k knownLedgers) entries() ([]pins.Entry, error) {
	path, err := k.path()
	if err != nil {
		return nil, nil //nolint:nilerr // without a folder for pins, the user has pinned nothing
	}
	return pins.Read(path)
}

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

func rotations(dataDir string) []ledger.KeyRotation {
	return ledger.ReadRotations(auditor.KeyDir(dataDir))
}

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
