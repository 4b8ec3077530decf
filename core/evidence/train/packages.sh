#!/bin/sh
# Downloads and unpacks the Debian packages that README names. usage: packages.sh FOLDER
set -e
mkdir -p "$1/more"
cd "$1"
languages="ru uk bg sr be mk pl cs hu sk hr sl ro el tr he ar fa lt lv et vi th ja zh-cn zh-tw ko fr de pt pt-br it nl sv da nb fi is ca sq es"
packages="gnome-user-docs wesnoth-1.16-data iso-codes gramps stellarium-data firefox-esr-l10n-nb-no firefox-esr-l10n-sv-se
	firefox-esr-l10n-pt-pt firefox-esr-l10n-es-es"
# Of languages that these have little of
more_languages="af an ast az br bs cy dsb eo eu fur fy-nl ga ga-ie gd gl gn gug hsb ia id kab kk kmr lij ms nn nn-no oc om rm rw sc sco
	skr ss st szl tg tl tn trs ts ug ur uz ve xh zu ach cak ff son nr nso mn en-gb"
more="mediawiki abiword-common akregator apt aptitude-common audacity-data baobab bash brasero-common caja-common cinnamon-l10n coreutils
	deluge-common digikam-data dolphin dpkg epiphany-browser-data evince-common evolution-common evolution-data-server-common
	freeciv-data gdm3 geany-common gedit-common gimp-data gnome-calculator gnome-chess gnome-control-center-data gnome-mines
	gnome-shell-common gnome-software-common gnome-terminal-data gnucash-common gnupg-l10n gparted-common gufw hexchat-common
	homebank-data inkscape kate5-data kdepim-runtime kio kstars-data libc-l10n libglib2.0-data libgtk-3-common libgtk2.0-common
	libkf5i18n-data libkf5kdelibs4support-data libkf5xmlgui-data marble-data mate-control-center-common metacity-common
	mousepad nautilus-data okular pidgin-data plasma-desktop-data pluma-common python3-django rhythmbox-data seahorse
	shared-mime-info shotwell-common software-properties-common synaptic tar thunar-data totem-common tracker
	transmission-common tuxmath-data tuxpaint-data tuxtype-data util-linux-locales virt-manager vlc-l10n wget wordpress-l10n
	exo-utils libgnutls30 xfce4-session xkb-data yelp zenity-common"
for language in $languages; do
	packages="$packages libreoffice-l10n-$language libreoffice-help-$language firefox-esr-l10n-$language manpages-$language"
done
for language in $more_languages; do
	more="$more libreoffice-l10n-$language libreoffice-help-$language firefox-esr-l10n-$language thunderbird-l10n-$language"
done

# Unpacks a package into a folder. Not every language has every package.
unpack()
{
	[ ! -d "$2" ] || return 0
	apt-get download -q "$1" 2>/dev/null || return 0
	mkdir "$2"
	dpkg-deb --fsys-tarfile "$1"_*.deb | tar x -C "$2" --wildcards '*.mo' '*.xpi' '*/man/*' '*/help/*' '*/i18n/*.json' \
		--exclude='*.png' --exclude='*.ogg' 2>/dev/null || true
	rm -f "$1"_*.deb
}

for package in $packages; do
	unpack "$package" "$package"
done
for package in $more; do
	unpack "$package" "more/$package"
done
