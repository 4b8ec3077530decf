<?php
// SimplePie (PHP): its cache is the folder ./cache. What lies there is made a minute older: within one second of the last poll it asks
// nobody, whatever the cache's duration.
error_reporting(0);
foreach (['simplepie/autoloader.php', 'SimplePie/autoloader.php'] as $loader)
	if ((@include_once $loader) !== false)
		break;
if (!class_exists('SimplePie'))
	exit(1);
@mkdir('cache');
foreach (glob('cache/*') as $kept)
	touch($kept, time() - 60);
foreach (array_slice($argv, 1) as $url) {
	$feed = new SimplePie();
	$feed->set_feed_url($url);
	$feed->set_cache_location('cache');
	$feed->set_cache_duration(0);
	$feed->init();
	echo $url, "\t", html_entity_decode($feed->get_title() ?? '', ENT_QUOTES | ENT_HTML5), "\n";
	foreach ($feed->get_items() ?? [] as $item)
		echo $url, "\t", html_entity_decode($item->get_title() ?? '', ENT_QUOTES | ENT_HTML5), "\n";
}
