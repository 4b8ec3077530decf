# The rss library over open-uri (Ruby), without validation: it asks for what RSS 2.0 leaves open.
require "open-uri"
require "rss"

ARGV.each do |url|
  begin
    feed = RSS::Parser.parse(URI.open(url).read, false)
    next unless feed
    [feed.channel, *feed.items].each { |part| puts "#{url}\t#{part.title.encode("UTF-8")}" }
  rescue StandardError => error
    warn "#{url}: #{error.class}: #{error.message}"
  end
end
