// Package redact replaces secrets and personal data in texts and events before they are stored. It
// reports the rule and the position of each finding, but never logs or returns the finding itself.
//
// # Findings
//
// The package finds secrets with the rules of the gitleaks version in go.mod. The results are the
// same as with gitleaks, with three exceptions:
//
//   - The marker "gitleaks:allow" in a comment has no effect, because text from an agent must
//     not be able to disable redaction.
//   - A rule for certain file names applies to the strings of an object, and of the values in
//     it, if a member such as "file_path" contains such a name.
//   - A file name never makes an allow-list apply.
//
// Rules of this package find more. Their ids begin with "own-", and they describe
//
//   - passwords in URLs, assignments, commands, .netrc and .pgpass files
//   - Bearer tokens, Basic authentication, session cookies, registry and Azure keys
//   - tokens with the prefix of a vendor, such as "sk-or-v1-", "gsk_" and "xai-"
//   - seeds of NATS keys, and private keys without an end
//
// They ignore placeholders such as "changeme" and "${PASSWORD}". All rules also search the text
// without ANSI sequences, and with decoded JSON escapes, up to six times. So they find secrets
// between colours, and in JSON inside of JSON strings. Everything outside of a finding keeps its
// bytes.
//
// A string can also be a secret because of the name of its member, such as {"api_key": "…"}, or
// because it is a copy of a secret elsewhere in the same event.
//
// Personal data consists of:
//
//   - e-mail addresses
//   - card numbers with the prefix and length of a scheme and a correct check digit
//   - IBANs with a correct length and checksum
//   - phone numbers with a plus and country code, or in a North American format
//   - IP addresses, except loopback, unspecified, multicast and network addresses
//
// # Markers
//
// The markers are "[SECRET_REDACTED]", "[EMAIL_REDACTED]", "[CARD_REDACTED]", "[IBAN_REDACTED]",
// "[PHONE_REDACTED]" and "[IP_REDACTED]". Overlapping findings get one marker. Redacting a result
// again does not change it. In JSON, only string values change. The result depends only on the
// input.
//
// # Limits
//
// The package does not find:
//
//   - secrets that no rule describes, such as a password in prose
//   - encoded text, such as base64 and percent escapes
//   - secrets that are spread over two strings or two events
//   - anything in names of members, numbers or attributes of an event
//   - national phone numbers of other countries, names, addresses, birthdays
//
// It also redacts text that looks like personal data, such as an order number in the form of a card
// number.
//
// The time is linear in the length of the text. If a text still contains a finding after ten rounds
// of replacements, a marker replaces the whole text. An event lists at most a thousand findings and
// counts the others.
package redact
