package timestamp

import (
	"bytes"
	"crypto"
	"errors"
	"math/big"
	"regexp"
	"time"

	tag "golang.org/x/crypto/cryptobyte/asn1"
)

// Info is the content of a token, called TSTInfo in RFC 3161.
type Info struct {
	Time     time.Time
	Accuracy time.Duration // possible error of Time; 0 if unknown
	Serial   *big.Int
	Policy   string // OID of the TSA's policy

	hash    crypto.Hash
	imprint []byte
	nonce   *big.Int // nil if there is none
}

var (
	errInfo     = errors.New("its content is not a time stamp of RFC 3161")
	errCritical = errors.New("it has a critical extension, which is not known")
)

const maxAccuracy = 24 * time.Hour

func parseInfo(data []byte) (info Info, err error) {
	outer := newDER(data)
	in := outer.enterOnly(tag.SEQUENCE)
	if version := in.count(tag.INTEGER); version != 1 {
		return info, errInfo
	}
	info.Policy = in.oid().String()
	imprint := in.enter(tag.SEQUENCE)
	if info.hash, err = hashOf(imprint.enter(tag.SEQUENCE)); err != nil {
		return info, err
	}
	hashed := imprint.enterOnly(tag.OCTET_STRING)
	info.imprint = hashed.in
	info.Serial = in.integer()
	if info.Time, err = readTime(&in); err != nil {
		return info, err
	}
	if in.has(tag.SEQUENCE) {
		if info.Accuracy, err = readAccuracy(in.enter(tag.SEQUENCE)); err != nil {
			return info, err
		}
	}
	in.skipOptional(tag.BOOLEAN) // ordering
	if in.has(tag.INTEGER) {
		info.nonce = in.integer()
	}
	return info, readRest(in)
}

func readRest(in der) error {
	in.skipOptional(explicit(0))
	var extensions der
	if in.has(explicit(1)) {
		extensions = in.enter(explicit(1))
	}
	in.end()
	for !extensions.in.Empty() && !*in.bad {
		one := extensions.enter(tag.SEQUENCE)
		one.oid()
		if one.optionalBool() {
			return errCritical
		}
	}
	if *in.bad {
		return errInfo
	}
	return nil
}

// generalizedTime is the time format of RFC 3161: UTC, with seconds and no trailing zeros.
var generalizedTime = regexp.MustCompile(`^\d{14}(\.\d{0,8}[1-9])?Z$`)

func readTime(in *der) (time.Time, error) {
	text := in.bytes(tag.GeneralizedTime)
	if *in.bad || !generalizedTime.Match(text) {
		return time.Time{}, errInfo
	}
	t, err := time.Parse("20060102150405Z", string(text)) // Parse accepts a fraction too
	if err != nil || t.Year() < 1 {
		return time.Time{}, errInfo
	}
	return t, nil
}

func readAccuracy(parts der) (total time.Duration, err error) {
	for _, part := range [...]struct {
		tag  tag.Tag
		unit time.Duration
	}{{tag.INTEGER, time.Second}, {tag.Tag(0).ContextSpecific(), time.Millisecond}, {tag.Tag(1).ContextSpecific(), time.Microsecond}} {
		if !parts.has(part.tag) {
			continue
		}
		n := parts.count(part.tag)
		if n > int64(maxAccuracy/part.unit) {
			return 0, errors.New("its accuracy is worse than a day")
		}
		total += time.Duration(n) * part.unit
	}
	if parts.end(); *parts.bad {
		return 0, errInfo
	}
	return total, nil
}

// Covers returns nil if the token is for this data.
func (info Info) Covers(data []byte) error {
	h := info.hash.New()
	h.Write(data)
	if !bytes.Equal(h.Sum(nil), info.imprint) {
		return errors.New("the token is about other data")
	}
	return nil
}

// Latest returns the latest time at which the token was made.
func (info Info) Latest() time.Time { return info.Time.Add(info.Accuracy) }
