#!/bin/sh
# Downloads and unpacks the Debian packages that README names. usage: packages.sh FOLDER
set -e
mkdir -p "$1"
cd "$1"
languages="ru uk bg sr be mk pl cs hu sk hr sl ro el tr he ar fa lt lv et vi th ja zh-cn zh-tw ko fr de pt pt-br it nl sv da nb fi is ca sq es"
packages="gnome-user-docs wesnoth-1.16-data iso-codes gramps stellarium-data firefox-esr-l10n-nb-no firefox-esr-l10n-sv-se
	firefox-esr-l10n-pt-pt firefox-esr-l10n-es-es"
for language in $languages; do
	packages="$packages libreoffice-l10n-$language libreoffice-help-$language firefox-esr-l10n-$language manpages-$language"
done
for package in $packages; do
	[ ! -d "$package" ] || continue
	# Not every language has every package
	apt-get download -q "$package" 2>/dev/null || continue
	mkdir "$package"
	dpkg-deb --fsys-tarfile "$package"_*.deb |
		tar x -C "$package" --wildcards '*.mo' '*.xpi' '*/man/*' '*/help/*' --exclude='*.png' --exclude='*.ogg' 2>/dev/null || true
	rm -f "$package"_*.deb
done
