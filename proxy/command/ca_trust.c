/* Owns the words by which `utfeed ca` tells how an authority comes to be trusted, and by what it is used. Must not
 * know: keys. */
#include "proxy/command/ca_trust.h"

#include <string.h>

/* Each with the file's name in the place of its @. */
static const struct {
	const char *who, *how;
} trusts[] = {
	{ "curl", "curl --cacert @ -x http://UTFEED:PORT https://example.org/feed.xml" },
	{ "Python requests", "REQUESTS_CA_BUNDLE=@ HTTPS_PROXY=http://UTFEED:PORT python3 reader.py" },
	{ "a Python or OpenSSL program", "SSL_CERT_FILE=@ (in the place of the system's authorities)" },
	{ "Node.js", "NODE_EXTRA_CA_CERTS=@" },
	{ "Debian, Ubuntu, a container of theirs",
		"cp @ /usr/local/share/ca-certificates/utfeed-ca.crt && update-ca-certificates" },
	{ "Alpine, its containers", "cat @ >>/etc/ssl/certs/ca-certificates.crt" },
	{ "Fedora, RHEL", "cp @ /etc/pki/ca-trust/source/anchors/utfeed-ca.pem && update-ca-trust" },
	{ "Java (password changeit)",
		"keytool -importcert -noprompt -alias utfeed -file @ -keystore \"$JAVA_HOME/lib/security/cacerts\" "
		"(Java 8: jre/lib/security/cacerts)" },
	{ "Windows, as administrator", "certutil -addstore Root @" },
	{ "macOS", "sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain @" },
	{ "Firefox, Thunderbird",
		"Settings, Privacy & Security, Certificates, View Certificates, Authorities, Import: @; trust it for "
		"websites" },
	{ "Android",
		"copy @ to the device; Settings, Security, Encryption & credentials, Install a certificate, CA "
		"certificate; apps trust it only if they say so (networkSecurityConfig)" },
};

void ca_trust_tell(FILE *out, const char *cert, const char *key)
{
	if (key)
		fprintf(out,
		    "\nIn the configuration of utfeed:\n\n"
		    "  intercept = HOST, .DOMAIN\n  intercept-ca-cert = %s\n  intercept-ca-key = %s\n",
		    cert, key);
	fputs("\nWho reads feeds through utfeed has to trust the certificate (never give away the key):\n\n", out);
	for (size_t i = 0; i < sizeof trusts / sizeof *trusts; i++) {
		const char *how = trusts[i].how;

		fprintf(out, "  %s:\n    ", trusts[i].who);
		fprintf(out, "%.*s%s%s", (int)strcspn(how, "@"), how, cert, strchr(how, '@') + 1);
		fputc('\n', out);
	}
	fputs("\nWhoever has the key can pose as every host that it signs for, to all who trust the certificate:\n"
	      "utfeed-intercept(7) says what follows from that, and how to take the trust back.\n",
	    out);
}
