package broker

import (
	"log/slog"
)

// IssuerFile is the name of the file with the key of [IssuerKey], in the folder "keys" of the data
// directory.
const IssuerFile = "issuer" + keyEnding

// IssuerKey returns the path of the key that confirms the signing keys of producers. It creates a
// missing key.
func IssuerKey(dataDir string) (path string, err error) { return loadKey(dataDir, "issuer") }

// Issuer returns the same path as [IssuerKey]. If the key is not readable, it logs a warning and
// returns "".
func Issuer(dataDir string, logger *slog.Logger) string {
	path, err := IssuerKey(dataDir)
	if err == nil {
		_, err = publicKey(path)
	}
	if err != nil {
		if logger == nil {
			logger = slog.New(slog.DiscardHandler)
		}
		logger.Warn("producers are not enrolled, because the key of the data directory is not readable", "error", err)
		return ""
	}
	return path
}
