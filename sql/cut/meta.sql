-- Grain: the mart, as of the moment.
select least(as_of_us, getvariable('until_us')) as as_of_us, as_of_given, published_us from published.meta
