# XML::Feed over URI::Fetch (Perl): asks conditionally by the validators of the last poll, kept in ./state.
use strict;
use warnings;
use URI::Fetch;
use XML::Feed;
use Storable qw(retrieve store);

binmode STDOUT, ":encoding(UTF-8)";
my $state = -e "state" ? retrieve("state") : {};
for my $url (@ARGV) {
	my $last = $state->{$url} || {};
	my $answer = URI::Fetch->fetch($url, ETag => $last->{etag}, LastModified => $last->{modified}) or next;
	next if $answer->http_status == 304;
	$state->{$url} = { etag => $answer->etag, modified => $answer->last_modified };
	my $content = $answer->content;
	my $feed = XML::Feed->parse(\$content) or next;
	print "$url\t", $_ // "", "\n" for $feed->title, map { $_->title } $feed->entries;
}
store($state, "state");
